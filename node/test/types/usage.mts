// The API as TypeScript users of import write it, type by type the same. Compiled, not run.
import * as tidegate from 'tidegate';
import { ConcurrencyLimiter, type Permit } from 'tidegate';

import required = require('tidegate');

const limiter: required.RateLimiter = new tidegate.RateLimiter('5 per 30s');
const permit: Permit | false = new ConcurrencyLimiter(1).tryAcquire();
const exported: typeof required = tidegate;

void [limiter, permit, exported];
