/** What a row compares with and this machine does not have. Its message is one line and all there is to say. */
export class NotInstalled extends Error {}
