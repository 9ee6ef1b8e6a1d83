import { enableCompileCache } from 'node:module';
import { keepHeapsSmall } from './platform/small-heaps.js';

// Compiled modules are kept in the temporary folder: a third of the start is spent on compiling. Without a writable folder
// nothing is kept and nothing fails. Both must come first, hence the import below them.
enableCompileCache();
keepHeapsSmall();
const { serve } = await import('./serve.js');

await serve();
