/** A call as far as it is known before the logs are read; depth null: the recording does not say. */
export interface Invocation {
  readonly program: string
  readonly depth: number | null
}

/** What the logs tell of one call. */
export interface InvocationLogs {
  /** From the log where the recording is silent; 1 for the message's own, 2 for what no log names. */
  readonly depth: number
  /** `Program log:`, `Program data:` and `Program return:` lines of its own. */
  readonly lines: readonly string[]
}

const INVOKE_LINE = /^Program (\S+) invoke \[(\d{1,3})\]$/
const EXIT_LINE = /^Program \S+ (?:success$|failed)/
const PROGRAM_OUTPUT_LINE = /^Program (?:log|data|return): /

/**
 * Gives every call the lines that it wrote, by walking the stack of `invoke`, `success` and `failed`. Calls are in the order
 * in which they ran; those that log no `invoke` (precompiles) and those behind a cut log (10 kB) get none.
 */
export const attributeLogLines = (
  lines: readonly string[],
  calls: readonly Invocation[],
): readonly InvocationLogs[] => {
  const depths = calls.map(({ depth }) => depth)
  const written: string[][] = calls.map(() => [])
  const stack: (number | undefined)[] = []
  let next = 0
  for (const line of lines) {
    if (PROGRAM_OUTPUT_LINE.test(line)) {
      const top = stack.at(-1)
      if (top !== undefined) written[top]?.push(line)
      continue
    }
    const [, program, level] = INVOKE_LINE.exec(line) ?? []
    if (program !== undefined) {
      const found = findInvocation(calls, next, { program, depth: Number(level) })
      if (found !== undefined) {
        depths[found] = Number(level)
        next = found + 1
      }
      stack.push(found)
    } else if (EXIT_LINE.test(line)) {
      stack.pop()
    }
  }
  return calls.map((_, index) => ({ depth: depths[index] ?? 2, lines: written[index] ?? [] }))
}

const findInvocation = (
  calls: readonly Invocation[],
  from: number,
  { program, depth }: { readonly program: string; readonly depth: number },
): number | undefined => {
  for (let at = from; at < calls.length; at += 1) {
    const call = calls[at]
    if (call?.program !== program) continue
    if (call.depth === null ? depth > 1 : call.depth === depth) return at
  }
  return undefined
}
