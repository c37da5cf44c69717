'use strict';

const { ManualClock } = require('./lib/clock.js');
const { ConcurrencyLimiter } = require('./lib/concurrency-limiter.js');
const { Decision, NEVER_NS } = require('./lib/decision.js');
const {
  ClosedError,
  ConfigError,
  ExceedsCapacityError,
  InternalError,
  QueueFullError,
  RefusedError,
  TidegateError,
  TimedOutError,
} = require('./lib/errors.js');
const { Entry } = require('./lib/entry.js');
const { Gate } = require('./lib/gate.js');
const { ipKey, keyOf } = require('./lib/key.js');
const { KeyedConcurrencyLimiter } = require('./lib/keyed-concurrency-limiter.js');
const { KeyedRateLimiter } = require('./lib/keyed-rate-limiter.js');
const { Permit } = require('./lib/permit.js');
const { Quota } = require('./lib/quota.js');
const { RateLimiter } = require('./lib/rate-limiter.js');
const { Refusal, RulesError } = require('./lib/refused.js');
const { Reservation } = require('./lib/reservation.js');

module.exports = {
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
};
