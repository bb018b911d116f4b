import { invitationList } from '../../features/accounts/invitation-list.ts';
import { accountList } from '../../features/admin/account-list.ts';
import { jobList } from '../../features/admin/job-list.ts';
import { alertList } from '../../features/alerts/alert-list.ts';
import { auditList } from '../../features/audit/audit-list.ts';
import { errorList } from '../../features/errors/error-list.ts';
import { webhookList } from '../../features/webhooks/webhook-list.ts';
import type { AdminList } from '../../features/hub/admin-list.ts';

export const ADMIN_LISTS: (AdminList & { summary: string })[] = [
  { ...jobList, summary: 'Jobs, newest first; state filters them' },
  { ...errorList, summary: 'Errors of the hub, grouped by kind, last seen first' },
  { ...alertList, summary: 'Alert deliveries, newest first; state filters them' },
  { ...webhookList, summary: 'Webhooks, and when each last received an event' },
  { ...auditList, summary: 'Audit events, newest first; act, actor, target, from and to filter them' },
  { ...accountList, summary: 'All accounts' },
  { ...invitationList, summary: 'Invitations that can still be used' },
];
