import { ApiError } from './api-error.js';
import { optionalText, requiredArn, requiredName, requiredText, type Fields } from './fields.js';
import { machineOf, type Machine } from './machine.js';
import { secondsOf, type LogNote, type Operation } from './operation.js';
import { pageOf } from './page.js';
import type { StepFunctionsStore } from './store.js';

const DEFINITION = { min: 1, max: 1_048_576, unit: 'bytes' } as const;
const ROLE_ARN = { min: 1, max: 256 } as const;

/** `arnPrefix`: `arn:aws:states:<region>:<account>`. */
export function machineOperations(store: StepFunctionsStore, arnPrefix: string): Record<string, Operation> {
  return {
    CreateStateMachine: (fields, note) => create(store, arnPrefix, fields, note),
    UpdateStateMachine: (fields, note) => update(store, fields, note),
    DescribeStateMachine(fields, note) {
      const { definition, roleArn, ...machine } = store.machine(arnOf(fields, note));
      return { ...summaryOf(machine), status: 'ACTIVE', definition, roleArn };
    },
    ListStateMachines(fields) {
      const { items, nextToken } = pageOf(Array.from(store.machines.values()), fields, ({ arn }) => arn);
      return { stateMachines: items.map(summaryOf), nextToken };
    },
    /** Gone at once, where AWS waits for its executions; those go on here. */
    DeleteStateMachine(fields, note) {
      store.machines.delete(arnOf(fields, note));
      return {};
    },
  };
}

function create(store: StepFunctionsStore, arnPrefix: string, fields: Fields, note: LogNote): object {
  const name = requiredName(fields);
  const definition = requiredText(fields, 'definition', DEFINITION);
  const roleArn = requiredText(fields, 'roleArn', ROLE_ARN);
  if (optionalText(fields, 'type', { max: 10 }) === 'EXPRESS') {
    throw new ApiError(
      'InvalidDefinition',
      `Invalid State Machine Definition: 'Express state machine does not support '.waitForTaskToken' service integration'`,
    );
  }
  const arn = `${arnPrefix}:stateMachine:${name}`;
  note.resource = arn;
  const existing = store.machines.get(arn);
  if (existing !== undefined && (existing.definition !== definition || existing.roleArn !== roleArn)) {
    throw new ApiError('StateMachineAlreadyExists', `State Machine Already Exists: '${arn}'`);
  }
  const machine = existing ?? machineOf({ arn, name, roleArn, definition, createdAtMs: Date.now() });
  store.machines.set(arn, machine);
  return { stateMachineArn: arn, creationDate: secondsOf(machine.createdAtMs) };
}

function update(store: StepFunctionsStore, fields: Fields, note: LogNote): object {
  const { arn, name, createdAtMs, ...former } = store.machine(arnOf(fields, note));
  const definition = optionalText(fields, 'definition', DEFINITION);
  const roleArn = optionalText(fields, 'roleArn', ROLE_ARN);
  if (definition === undefined && roleArn === undefined)
    throw new ApiError('MissingRequiredParameter', 'Either the definition or the role ARN must be specified');
  store.machines.set(
    arn,
    machineOf({ arn, name, createdAtMs, definition: definition ?? former.definition, roleArn: roleArn ?? former.roleArn }),
  );
  return { updateDate: secondsOf(Date.now()) };
}

function arnOf(fields: Fields, note: LogNote): string {
  return (note.resource = requiredArn(fields, 'stateMachineArn', 'stateMachine'));
}

function summaryOf({ arn, name, createdAtMs }: Pick<Machine, 'arn' | 'name' | 'createdAtMs'>): object {
  return { stateMachineArn: arn, name, type: 'STANDARD', creationDate: secondsOf(createdAtMs) };
}
