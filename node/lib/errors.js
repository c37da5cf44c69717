'use strict';

const { inspect } = require('node:util');

/** Wrong arguments are RangeErrors and TypeErrors, as everywhere in Node, and yet ours. */
const argumentErrors = new WeakSet();

class TidegateError extends Error {
  constructor(message, code = 'ERR_TIDEGATE', options = undefined) {
    super(message, options);
    this.code = code;
  }

  static {
    const ordinary = Function.prototype[Symbol.hasInstance];
    Object.defineProperty(TidegateError, Symbol.hasInstance, {
      // Subclasses inherit this, and are not to claim the argument errors.
      value: function hasInstance(error) {
        return ordinary.call(this, error) || (this === TidegateError && argumentErrors.has(error));
      },
    });
  }
}

class RefusedError extends TidegateError {
  constructor(message, decision) {
    super(message, 'ERR_TIDEGATE_REFUSED');
    this.decision = decision;
  }
}

class ExceedsCapacityError extends RefusedError {
  constructor(message, decision) {
    super(message, decision);
    this.code = 'ERR_TIDEGATE_EXCEEDS_CAPACITY';
  }
}

class TimedOutError extends TidegateError {
  constructor(message) {
    super(message, 'ERR_TIDEGATE_TIMED_OUT');
  }
}

class QueueFullError extends TidegateError {
  constructor(message) {
    super(message, 'ERR_TIDEGATE_QUEUE_FULL');
  }
}

class ClosedError extends TidegateError {
  constructor(message) {
    super(message, 'ERR_TIDEGATE_CLOSED');
  }
}

class InternalError extends TidegateError {
  constructor(message, options) {
    super(message, 'ERR_TIDEGATE_INTERNAL', options);
  }
}

class ConfigError extends RangeError {
  constructor(message) {
    super(message);
    argument(this, 'ERR_TIDEGATE_CONFIG');
  }
}

for (const type of [
  TidegateError,
  RefusedError,
  ExceedsCapacityError,
  TimedOutError,
  QueueFullError,
  ClosedError,
  InternalError,
  ConfigError,
]) {
  Object.defineProperty(type.prototype, 'name', { value: type.name, configurable: true, writable: true });
}

/** Marks an error `ARGUMENT: got VALUE; allowed: WHAT` as ours. */
function argument(error, code) {
  error.code = code;
  error.argument = /^(\w+): got /.exec(error.message)?.[1];
  argumentErrors.add(error);
  return error;
}

function mistake(name, value, allowed) {
  return `${name}: got ${shown(value)}; allowed: ${allowed}`;
}

/** A value in one line, without running code of its own. */
function shown(value) {
  return inspect(value, { customInspect: false, depth: 0, breakLength: Infinity, maxStringLength: 200 });
}

/** A value of the right type that is not allowed. */
function outOfRange(name, value, allowed) {
  return argument(new RangeError(mistake(name, value, allowed)), 'ERR_TIDEGATE_OUT_OF_RANGE');
}

/** The same for what limiters are built from. */
function misconfigured(name, value, allowed) {
  return new ConfigError(mistake(name, value, allowed));
}

/** A value of a wrong type. */
function wrongType(name, value, allowed) {
  return argument(new TypeError(mistake(name, value, allowed)), 'ERR_TIDEGATE_INVALID_TYPE');
}

/** A permit or decision whose time is over. */
function spent(name, value, allowed) {
  const error = new TidegateError(`${name}: got ${value}; allowed: ${allowed}`, `ERR_TIDEGATE_${name.toUpperCase()}`);
  error.argument = name;
  return error;
}

/** What the native library threw, as one of ours. `wrongArgument` makes the error where it told no more than that. */
function fromNative(error, wrongArgument) {
  if (error?.code === 'GenericFailure')
    return new InternalError(`a fault inside tidegate: ${error.message}`, { cause: error });
  if (error?.code !== 'InvalidArg') return error;
  return wrongArgument ? wrongArgument() : new ConfigError(error.message);
}

/** Calls the native library where no cost or permit is at stake. */
function attempt(call) {
  try {
    return call();
  } catch (error) {
    throw fromNative(error);
  }
}

module.exports = {
  TidegateError,
  RefusedError,
  ExceedsCapacityError,
  TimedOutError,
  QueueFullError,
  ClosedError,
  InternalError,
  ConfigError,
  outOfRange,
  misconfigured,
  wrongType,
  spent,
  fromNative,
  attempt,
};
