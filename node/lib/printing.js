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

module.exports = { printsAsText, toJson };
