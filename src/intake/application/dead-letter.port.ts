/** The jobs queue's dead-letter queue: what a person must look at, because nobody else was told, with the reason. */
export abstract class DeadLetterPort {
  /**
   * @param reason shown as the message attribute `reason`; at most 1,024 characters of it
   * @returns `cut`: the body was too long for a message that has a reason, too; its size is in the attribute `cutFromBytes`
   */
  abstract copy(body: string, reason: string): Promise<{ cut: boolean }>;
}
