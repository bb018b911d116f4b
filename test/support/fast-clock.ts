// Loaded before a program, has its clock run so many times faster as the environment says. Timers keep their pace.
const now = Date.now;
const startedAt = now();
const speed = Number(process.env['TEST_CLOCK_SPEED']);
Date.now = () => Math.floor(startedAt + (now() - startedAt) * speed);
