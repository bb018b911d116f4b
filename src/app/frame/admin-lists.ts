import { invitationList } from '../../features/accounts/invitation-list.ts';
import { accountList } from '../../features/admin/account-list.ts';
import { jobList } from '../../features/admin/job-list.ts';
import { alertList } from '../../features/alerts/alert-list.ts';
import { auditList } from '../../features/audit/audit-list.ts';
import { errorList } from '../../features/errors/error-list.ts';
import { webhookList } from '../../features/webhooks/webhook-list.ts';

export const ADMIN_LISTS = [
  jobList, errorList, alertList, webhookList, auditList, accountList, invitationList,
];
