import { html, type Html } from '../../platform/http/html.ts';
import type { JobProgress } from '../../platform/jobs/job-records.ts';

/** A job's progress in words: "1,200 of 9,000", or "1,200 so far" if the total is unknown. */
export function progressText({ done, total }: JobProgress): string {
  const shown = done.toLocaleString('en');
  return total === null ? `${shown} so far` : `${shown} of ${total.toLocaleString('en')}`;
}

/** How far a job was when the page was loaded, with a bar if the total is known. `what`: the things that it counts. */
export function progressBar(progress: JobProgress, what = ''): Html {
  const { done, total } = progress;
  return html`<label>${progressText(progress)} ${what} ${total !== null && html`<progress max="${total}" value="${
    done}">${progressText(progress)}</progress>`}</label>`;
}
