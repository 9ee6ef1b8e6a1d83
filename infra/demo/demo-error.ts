/** Ends the demo with exit code 1 before there is anything to check; the message is for people. */
export class DemoError extends Error {}
