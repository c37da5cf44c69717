'use strict';

const { inspect } = require('node:util');

/** Has console.log show objects of a class by their text: they keep what they are out of reach of Node's own. */
function printsAsText(type) {
  Object.defineProperty(type.prototype, inspect.custom, {
    value: function print() {
      return this.toString();
    },
    configurable: true,
    writable: true,
  });
}

/** The properties of an object as JSON.stringify is to write them: BigInts, which JSON lacks, as decimal strings. */
function toJson(object) {
  const written = Object.entries(object).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value]);
  return Object.fromEntries(written);
}

/** Adds milliseconds to the hold times of statistics, if they have any. */
function withHoldTimes(stats) {
  if (stats.holdTimeTotalNs === undefined) return stats;
  stats.holdTimeTotalMs = Number(stats.holdTimeTotalNs) / 1e6;
  stats.holdTimeMaxMs = Number(stats.holdTimeMaxNs) / 1e6;
  // Not a class, nor enumerable: these are figures, equal to an object of the same figures.
  return Object.defineProperty(stats, 'toJSON', { value: () => toJson(stats), configurable: true, writable: true });
}

module.exports = { printsAsText, toJson, withHoldTimes };
