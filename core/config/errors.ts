/** One mistake in the configuration. */
export interface ConfigProblem {
  readonly variable: string
  readonly message: string
}

/** Every mistake of a configuration at once. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(
      `${problems.length} mistake(s) in the configuration:\n${problems
        .map(({ variable, message }) => `  ${variable}: ${message}`)
        .join('\n')}`,
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}
