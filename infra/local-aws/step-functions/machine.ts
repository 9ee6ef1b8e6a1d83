import { compileDefinition, type CompiledMachine } from './definition.js';

/** A state machine as created or last updated; running executions keep the one they began with. */
export interface Machine {
  readonly arn: string;
  readonly name: string;
  readonly roleArn: string;
  /** As it was sent. */
  readonly definition: string;
  readonly compiled: CompiledMachine;
  readonly createdAtMs: number;
}

/** @throws ApiError `InvalidDefinition` */
export function machineOf(facts: Omit<Machine, 'compiled'>): Machine {
  return { ...facts, compiled: compileDefinition(facts.definition) };
}
