import { enableCompileCache } from 'node:module';

// Compiled modules are kept in the temporary folder: a third of the start is spent on compiling. Without a writable folder
// nothing is kept and nothing fails. It must come first, hence the import below it.
enableCompileCache();
const { serve } = await import('./serve.js');

await serve();
