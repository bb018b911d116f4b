import { html, type Html } from '../../platform/http/html.ts';
import type { JobProgress } from '../../platform/jobs/job-readings.ts';

/** "1,200 of 9,000", or where nobody knows of how many, "1,200 so far". */
export function progressText({ done, total }: JobProgress): string {
  const shown = done.toLocaleString('en');
  return total === null ? `${shown} so far` : `${shown} of ${total.toLocaleString('en')}`;
}

/** The same with a bar, which moves as the page is loaded again. `what`: of what so many are done. */
export function progressBar(progress: JobProgress, what = ''): Html {
  const { done, total } = progress;
  return html`<label>${progressText(progress)} ${what} ${total !== null && html`<progress max="${total}" value="${
    done}">${progressText(progress)}</progress>`}</label>`;
}
