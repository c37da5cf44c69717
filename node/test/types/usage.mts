// The API as TypeScript users of import write it, type by type the same. Compiled, not run.
import * as tidegate from 'tidegate';
import byDefault, { ConcurrencyLimiter, type Permit } from 'tidegate';

import required = require('tidegate');

const limiter: required.RateLimiter = new tidegate.RateLimiter('5 per 30s');
const permit: Permit | null = new ConcurrencyLimiter(1).tryAcquire();
const exported: typeof required = tidegate;
const whole: typeof required = byDefault;
const clock: tidegate.ManualClock = new byDefault.ManualClock();

void [limiter, permit, exported, whole, clock];
