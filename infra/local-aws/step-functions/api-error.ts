/** The API's own error names; on the wire in `__type`, with HTTP 400. */
export type ApiErrorName =
  | 'ExecutionAlreadyExists'
  | 'ExecutionDoesNotExist'
  | 'InvalidArn'
  | 'InvalidDefinition'
  | 'InvalidExecutionInput'
  | 'InvalidName'
  | 'InvalidOutput'
  | 'InvalidToken'
  | 'MissingRequiredParameter'
  | 'SerializationException'
  | 'StateMachineAlreadyExists'
  | 'StateMachineDoesNotExist'
  | 'TaskDoesNotExist'
  | 'TaskTimedOut'
  | 'UnknownOperationException'
  | 'ValidationException';

/** A refusal as AWS words it. Its message never holds a token or an output. */
export class ApiError extends Error {
  override readonly name: ApiErrorName;

  constructor(name: ApiErrorName, message: string) {
    super(message);
    this.name = name;
  }
}
