'use strict';

const { callable, oneOf } = require('./arguments.js');
const { attempt } = require('./errors.js');
const native = require('./native.js');
const { refusal, rulesError } = require('./refused.js');
const { nextId, waiting, waits } = require('./wait.js');

const EVENTS = ['refused', 'shadowRefused', 'reloaded', 'reloadFailed'];
/** As the native library calls them. */
const NAMES = {
  refused: 'refused',
  shadow_refused: 'shadowRefused',
  reloaded: 'reloaded',
  reload_failed: 'reloadFailed',
};

/** Those whose gate is gone hear nothing any more. */
const gone = new FinalizationRegistry((id) => waiting.delete(id));

/** Who listens to a gate. They are told from the event loop, after the fact, and keep nothing alive. */
class Happenings {
  #handle;
  #listeners = new Map(EVENTS.map((event) => [event, []]));
  #isListening = false;

  constructor(handle) {
    this.#handle = handle;
  }

  on(event, listener) {
    oneOf('event', event, EVENTS);
    callable('listener', listener);
    if (!this.#isListening) this.#listen();
    this.#listeners.get(event).push(listener);
  }

  off(event, listener) {
    oneOf('event', event, EVENTS);
    const listeners = this.#listeners.get(event);
    const place = listeners.lastIndexOf(listener);
    if (place >= 0) listeners.splice(place, 1);
  }

  /** Calls the listeners of an event. What they throw, or reject with, is a process warning. */
  tell(event, value) {
    for (const listener of [...this.#listeners.get(event)]) {
      try {
        const result = listener(value);
        if (typeof result?.then === 'function') result.then(undefined, warn);
      } catch (error) {
        warn(error);
      }
    }
  }

  #listen() {
    const id = nextId();
    attempt(() => native.gateListen(this.#handle, waits, id));
    waiting.set(id, earOf(new WeakRef(this)));
    gone.register(this, id);
    this.#isListening = true;
  }

  /** Tells what has happened. */
  hear() {
    for (;;) {
      const happened = attempt(() => native.gateNextEvent(this.#handle));
      if (!happened) return;
      const { event, refusal: refused, reloaded, faults } = happened;
      const name = NAMES[event];
      if (name) this.tell(name, reloaded ?? (faults ? rulesError(faults) : refusal(refused)));
    }
  }
}

/** Of whom it holds nothing: a function that is made elsewhere might. */
function earOf(listener) {
  return { hear: () => listener.deref()?.hear() };
}

function warn(error) {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`A listener of a Gate failed: ${what}`, {
    type: 'TidegateWarning',
    code: 'TIDEGATE_LISTENER_FAILED',
  });
}

module.exports = { Happenings };
