import { InvalidArgumentError, Option, type Command } from 'commander';
import { KEYS_FROM, MANIFEST_FORMATS, type ListReading } from '../intake/index.js';

/** How the service is to read a list. */
export function addListReadingOptions(command: Command): Command {
  return command
    .addOption(new Option('--format <format>', 'of the list; default: as it tells itself').choices(MANIFEST_FORMATS))
    .addOption(new Option('--key-from <part>', 'of the URL, for files without a key: its name, or host and path').choices(KEYS_FROM))
    .option('--ignore-columns <names>', 'columns that are not ours, with commas between, or as JSON: ["a,b"]', namesIn)
    .option('--allow-empty', 'a list without files is in order');
}

/** The fields of a message's `source` that the options name. */
export function listReadingOf({ format, keyFrom, ignoreColumns, allowEmpty }: ListReading): ListReading {
  return {
    ...(format === undefined ? {} : { format }),
    ...(keyFrom === undefined ? {} : { keyFrom }),
    ...(ignoreColumns === undefined ? {} : { ignoreColumns }),
    ...(allowEmpty === undefined ? {} : { allowEmpty }),
  };
}

function namesIn(text: string): string[] {
  if (!text.trimStart().startsWith('[')) return text.split(',').filter((name) => name.trim() !== '');
  try {
    const names: unknown = JSON.parse(text);
    if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  } catch {
    // Told below, like JSON that is no array of names.
  }
  throw new InvalidArgumentError('It must be names with commas between, like id,comment, or JSON, like ["a,b","comment"].');
}
