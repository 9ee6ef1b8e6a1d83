import { Option, type Command } from 'commander';
import { KEYS_FROM, MANIFEST_FORMATS, type ListReading } from '../intake/index.js';

/** How the service is to read a list. */
export function addListReadingOptions(command: Command): Command {
  return command
    .addOption(new Option('--format <format>', 'of the list; default: as it tells itself').choices(MANIFEST_FORMATS))
    .addOption(new Option('--key-from <part>', 'of the URL, for files without a key: its name, or host and path').choices(KEYS_FROM))
    .option('--ignore-columns <names>', 'columns that are not ours, with commas between', namesIn)
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
  return text.split(',').filter((name) => name.trim() !== '');
}
