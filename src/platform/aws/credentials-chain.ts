import { defaultProvider } from '@aws-sdk/credential-provider-node';

export type AwsIdentity = Awaited<ReturnType<ReturnType<typeof defaultProvider>>>;

/** What a provider that was tried says of its failure, in the SDK's own log; the others say only that they are not set up. */
const FAILURE = /Error: (.+)/;

/**
 * One fetch from where the SDK looks: environment, profile, web identity, container, instance. A chain keeps what it found, and waits
 * behind a call that hangs, so each fetch has a chain of its own.
 * @throws the SDK's CredentialsProviderError, with what kept its source from answering: the SDK itself says only that there is none
 */
export async function fetchFromChain(region: string): Promise<AwsIdentity> {
  const failures = new Set<string>();
  const logger = {
    debug: (text: string) => {
      const failure = FAILURE.exec(text)?.[1];
      if (failure !== undefined) failures.add(failure);
    },
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  try {
    return await defaultProvider({ clientConfig: { region }, ignoreCache: true, logger })();
  } catch (error) {
    if (error instanceof Error && failures.size > 0) error.message += ` (${[...failures].join('; ')})`;
    throw error;
  }
}
