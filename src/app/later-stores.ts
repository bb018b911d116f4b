// Files that hold prepared statements which no request but the overview's needs: the worker loads them with the
// others, web as soon as it listens. A mistake in SQL ends either.
import '../features/history/backup-run-store.ts';
import '../features/history/certificate-store.ts';
import '../features/history/history-store.ts';
