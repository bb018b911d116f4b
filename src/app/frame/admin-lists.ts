import type { AdminList } from '../../features/hub/admin-list.ts';

/** A list for administrators: its addresses, labels and the file that defines it. */
type ListedList = {
  name: string; // the page is /admin/NAME, the API /api/admin/NAME unless `api` says otherwise
  api?: `/api/${string}`;
  label: string; // in the navigation
  summary: string; // in the description of the API
  load(): Promise<AdminList>;
};

/** The lists for administrators, in the order of their navigation. */
export const ADMIN_LISTS: ListedList[] = [
  {
    name: 'jobs', label: 'Jobs', summary: 'Jobs, newest first; state filters them',
    load: async () => (await import('../../features/admin/job-list.ts')).jobList,
  },
  {
    name: 'errors', label: 'Errors', summary: 'Errors of the hub, grouped by kind, last seen first',
    load: async () => (await import('../../features/errors/error-list.ts')).errorList,
  },
  {
    name: 'alerts', label: 'Alerts', summary: 'Alert deliveries, newest first; state filters them',
    load: async () => (await import('../../features/alerts/alert-list.ts')).alertList,
  },
  {
    name: 'webhooks', label: 'Webhooks', summary: 'Webhooks, and when each last received an event',
    load: async () => (await import('../../features/webhooks/webhook-list.ts')).webhookList,
  },
  {
    name: 'audit', label: 'Audit log',
    summary: 'Audit events, newest first; act, actor, target, from and to filter them',
    load: async () => (await import('../../features/audit/audit-list.ts')).auditList,
  },
  {
    name: 'accounts', label: 'Accounts', summary: 'All accounts',
    load: async () => (await import('../../features/admin/account-list.ts')).accountList,
  },
  {
    name: 'invitations', api: '/api/invitations', label: 'Invitations', summary: 'Invitations that can still be used',
    load: async () => (await import('../../features/accounts/invitation-list.ts')).invitationList,
  },
];
