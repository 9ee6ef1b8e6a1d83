/**
 * Tasks in hand for each source that is read at once: the one that is read, and one that has been, on its way to S3. More would pile up in
 * front of a slow S3. It holds for the whole process.
 */
export const IN_HAND_PER_PLACE = 2;
