import { registerHooks } from 'node:module';

/**
 * `node --import ./test/support/typescript.mjs <script>.ts`: Node strips the types itself, and this finds `./x.ts` where the
 * project's way of writing imports says `./x.js`. For scripts that are no part of the build.
 */
registerHooks({
  resolve: (specifier, context, next) =>
    next(context.parentURL?.endsWith('.ts') && specifier.startsWith('.') ? specifier.replace(/\.js$/, '.ts') : specifier, context),
});
