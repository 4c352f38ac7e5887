/** Wrong options: every one of them at once. */
export class UsageError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'UsageError'
  }
}
