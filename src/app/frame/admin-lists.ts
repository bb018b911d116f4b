import { invitationList } from '../../features/accounts/invitation-list.ts';
import { accountList } from '../../features/admin/account-list.ts';
import { jobList } from '../../features/admin/job-list.ts';
import { alertList } from '../../features/alerts/alert-list.ts';
import { auditList } from '../../features/audit/audit-list.ts';
import { errorList } from '../../features/errors/error-list.ts';
import { webhookList } from '../../features/webhooks/webhook-list.ts';
import type { AdminList } from '../../features/hub/admin-list.ts';

/** A list for administrators: its addresses and labels. */
type ListedList = {
  name: string; // the page is /admin/NAME, the API /api/admin/NAME unless `api` says otherwise
  api?: `/api/${string}`;
  label: string; // in the navigation
  summary: string; // in the description of the API
  list: AdminList;
};

/** The lists for administrators, in the order of their navigation. */
export const ADMIN_LISTS: ListedList[] = [
  {
    name: 'jobs', label: 'Jobs', summary: 'Jobs, newest first; state filters them',
    list: jobList,
  },
  {
    name: 'errors', label: 'Errors', summary: 'Errors of the hub, grouped by kind, last seen first',
    list: errorList,
  },
  {
    name: 'alerts', label: 'Alerts', summary: 'Alert deliveries, newest first; state filters them',
    list: alertList,
  },
  {
    name: 'webhooks', label: 'Webhooks', summary: 'Webhooks, and when each last received an event',
    list: webhookList,
  },
  {
    name: 'audit', label: 'Audit log',
    summary: 'Audit events, newest first; act, actor, target, from and to filter them',
    list: auditList,
  },
  {
    name: 'accounts', label: 'Accounts', summary: 'All accounts',
    list: accountList,
  },
  {
    name: 'invitations', api: '/api/invitations', label: 'Invitations', summary: 'Invitations that can still be used',
    list: invitationList,
  },
];
