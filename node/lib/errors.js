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
  constructor(message, decision, figures) {
    super(message, decision);
    this.code = 'ERR_TIDEGATE_EXCEEDS_CAPACITY';
    Object.assign(this, figures);
  }
}

/** Of a wait; `figures` tell how it stood. */
class TimedOutError extends TidegateError {
  constructor(message, figures) {
    super(message, 'ERR_TIDEGATE_TIMED_OUT');
    Object.assign(this, figures);
  }
}

class QueueFullError extends TidegateError {
  constructor(message, figures) {
    super(message, 'ERR_TIDEGATE_QUEUE_FULL');
    Object.assign(this, figures);
  }
}

class ClosedError extends TidegateError {
  constructor(message, figures) {
    super(message, 'ERR_TIDEGATE_CLOSED');
    Object.assign(this, figures);
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
    this.code = 'ERR_TIDEGATE_CONFIG';
    argumentErrors.add(this);
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

/** A wrong argument, as an error `ARGUMENT: got VALUE; allowed: WHAT` that also bears the three apart. `value` is text. */
function mistake(type, code, argument, value, allowed) {
  const error = new type(`${argument}: got ${value}; allowed: ${allowed}`);
  argumentErrors.add(error);
  return Object.assign(error, { code, argument, value, allowed });
}

/** A value in one line, without running code of its own. */
function shown(value) {
  return inspect(value, { customInspect: false, depth: 0, breakLength: Infinity, maxStringLength: 200 });
}

/** A value of the right type that is not allowed. */
function outOfRange(name, value, allowed) {
  return mistake(RangeError, 'ERR_TIDEGATE_OUT_OF_RANGE', name, shown(value), allowed);
}

/** The same for what limiters are built from. */
function misconfigured(name, value, allowed) {
  return mistake(ConfigError, 'ERR_TIDEGATE_CONFIG', name, shown(value), allowed);
}

/** A value of a wrong type. */
function wrongType(name, value, allowed) {
  return mistake(TypeError, 'ERR_TIDEGATE_INVALID_TYPE', name, shown(value), allowed);
}

/** A permit or decision whose time is over: of the right type, and not a wrong argument in Node's sense. */
function spent(name, value, allowed) {
  const error = new TidegateError(`${name}: got ${value}; allowed: ${allowed}`, `ERR_TIDEGATE_${name.toUpperCase()}`);
  return Object.assign(error, { argument: name, value, allowed });
}

/** What `read` returns. A mistake in it is told as one at `place`, such as `quotas[1]`, or in a part of it. */
function at(place, read) {
  try {
    return read();
  } catch (error) {
    if (!argumentErrors.has(error) || error.argument === undefined) throw error;
    const part = error.argument.replace(/^quota\b\.?/, '');
    throw mistake(error.constructor, error.code, part ? `${place}.${part}` : place, error.value, error.allowed);
  }
}

/** What the native library threw, as one of ours. `wrongArgument` makes the error where it told no more than that. */
function fromNative(error, wrongArgument) {
  if (error?.code === 'GenericFailure')
    return new InternalError(`a fault inside tidegate: ${error.message}`, { cause: error });
  if (error?.code !== 'InvalidArg') return error;
  if (wrongArgument) return wrongArgument();
  const told = /^(\w+): got (.*); allowed: (.*)$/s.exec(error.message);
  if (!told) return error;
  const [, argument, value, allowed] = told;
  const inCamelCase = argument.replace(/_./g, ([, letter]) => letter.toUpperCase());
  return mistake(ConfigError, 'ERR_TIDEGATE_CONFIG', inCamelCase, value, allowed);
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
  at,
  fromNative,
  attempt,
};
