import tidegate = require('./index.js');

export * from './index.js';
export default tidegate;
