import { ApiError } from './api-error.js';

/** The members of one request, unchecked. */
export type Fields = Readonly<Record<string, unknown>>;

interface TextRange {
  min?: number;
  max: number;
  /** Payload quotas count bytes of UTF-8, all other limits characters. */
  unit?: 'bytes';
}

/** Bytes of UTF-8 that AWS takes as the input or output of a state, an execution or a task. */
export const MAX_PAYLOAD_BYTES = 262_144;

const ARN = /^arn:aws[a-z-]*:states:[^:]+:\d+:([a-zA-Z]+):\S+$/;
/** Whitespace, brackets, wildcards, `" # % \ ^ | ~ ` $ & , ; : /` and control characters. */
const FORBIDDEN_IN_NAMES = /[\s<>{}[\]?*"#%\\^|~`$&,;:/\p{Cc}\uFFFE\uFFFF]/u;

/** @throws ApiError `SerializationException`, `ValidationException` */
export function optionalText(fields: Fields, name: string, range: TextRange): string | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new ApiError('SerializationException', `'${name}' must be a string`);
  const length = range.unit === 'bytes' ? Buffer.byteLength(value) : value.length;
  if (length < (range.min ?? 0)) throw violation(name, `Member must have length greater than or equal to ${range.min}`);
  if (length > range.max) throw violation(name, `Member must have length less than or equal to ${range.max}`);
  return value;
}

/** @throws ApiError `SerializationException`, `ValidationException` */
export function requiredText(fields: Fields, name: string, range: TextRange): string {
  return required(name, optionalText(fields, name, range));
}

/** @throws ApiError `SerializationException`, `ValidationException` */
export function optionalInteger(fields: Fields, name: string, max: number): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value)) throw new ApiError('SerializationException', `'${name}' must be an integer`);
  if (value < 0) throw violation(name, 'Member must have value greater than or equal to 0');
  if (value > max) throw violation(name, `Member must have value less than or equal to ${max}`);
  return value;
}

/** The name of a state machine or an execution: 1..80 characters. @throws ApiError `InvalidName`, `ValidationException` */
export function optionalName(fields: Fields): string | undefined {
  const name = optionalText(fields, 'name', { min: 1, max: 80 });
  if (name !== undefined && FORBIDDEN_IN_NAMES.test(name)) throw new ApiError('InvalidName', `Invalid Name: '${name}'`);
  return name;
}

export function requiredName(fields: Fields): string {
  return required('name', optionalName(fields));
}

/** @throws ApiError `InvalidArn`, `ValidationException` */
export function requiredArn(fields: Fields, name: string, type: 'stateMachine' | 'execution'): string {
  const arn = requiredText(fields, name, { min: 1, max: 256 });
  const match = ARN.exec(arn);
  if (match === null) throw new ApiError('InvalidArn', `Invalid Arn: '${arn}'`);
  if (match[1] !== type) throw new ApiError('InvalidArn', `Invalid Arn: 'Resource type not valid in this context: ${match[1]}'`);
  return arn;
}

export function violation(name: string, constraint: string): ApiError {
  return new ApiError('ValidationException', `1 validation error detected: Value at '${name}' failed to satisfy constraint: ${constraint}`);
}

function required<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw violation(name, 'Member must not be null');
  return value;
}
