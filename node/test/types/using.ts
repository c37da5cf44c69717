// A permit that ends with its scope. Compiled, and run by test/using.test.js: it must print what it says here.
import { ConcurrencyLimiter } from 'tidegate';

const limiter = new ConcurrencyLimiter(1);

function work(): string {
  using permit = limiter.tryAcquire();
  if (!permit) return 'refused';
  return `let in, ${work()} meanwhile`;
}

console.log(work()); // let in, refused meanwhile
console.log(limiter.inFlight); // 0
