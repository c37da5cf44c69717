// The same classes as for require(): a permit of one is a permit of the other.
import tidegate from './index.js';

export const {
  ClosedError,
  ConcurrencyLimiter,
  ConfigError,
  Decision,
  Entry,
  ExceedsCapacityError,
  Gate,
  InternalError,
  KeyedConcurrencyLimiter,
  KeyedRateLimiter,
  ManualClock,
  NEVER_NS,
  Permit,
  QueueFullError,
  Quota,
  RateLimiter,
  Refusal,
  RefusedError,
  Reservation,
  RulesError,
  TidegateError,
  TimedOutError,
  ipKey,
  keyOf,
} = tidegate;

export default tidegate;
