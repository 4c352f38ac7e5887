/** The same value with the leaf or branch that the path leads to replaced; the path wraps around. */
export const replaceAtPath = (value: unknown, path: readonly number[], by: unknown): unknown => {
  const [step, ...rest] = path
  if (step === undefined || typeof value !== 'object' || value === null) return by
  const entries = Object.entries(value)
  const [name] = entries[step % Math.max(entries.length, 1)] ?? []
  if (name === undefined) return by
  const copy = Array.isArray(value) ? [...value] : { ...value }
  const child = (copy as Record<string, unknown>)[name]
  ;(copy as Record<string, unknown>)[name] = replaceAtPath(child, rest, by)
  return copy
}
