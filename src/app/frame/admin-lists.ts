import { invitationList } from '../../features/accounts/invitation-list.ts';
import { accountList } from '../../features/admin/account-list.ts';
import { jobList } from '../../features/admin/job-list.ts';
import { alertList } from '../../features/alerts/alert-list.ts';
import { auditList } from '../../features/audit/audit-store.ts';
import { errorList } from '../../features/errors/error-store.ts';
import type { AdminList } from '../../features/hub/admin-list.ts';
import { webhookList } from '../../features/webhooks/webhook-list.ts';

/** The lists for administrators, in the order of their navigation. */
export const ADMIN_LISTS: AdminList[] = [
  jobList, errorList, alertList, webhookList, auditList, accountList, invitationList,
];
