import { refuseOldNode } from './platform/node-version.js';

refuseOldNode();
// Compiled modules are kept in the temporary folder: a third of the start is spent on compiling. Without a writable folder
// nothing is kept and nothing fails. Both must come first, hence the imports below them.
const { enableCompileCache } = await import('node:module');
const { keepHeapsSmall } = await import('./platform/small-heaps.js');
enableCompileCache();
keepHeapsSmall();
const { serve } = await import('./serve.js');

await serve();
