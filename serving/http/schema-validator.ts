import AjvCompiler from '@fastify/ajv-compiler'

interface Validator {
  (data: unknown): boolean
  errors?: AjvCompiler.ErrorObject[] | null
}
type Compile = (route: Parameters<ReturnType<AjvCompiler.BuildCompilerFromPool>>[0]) => Validator

const OPTIONS = { coerceTypes: false, removeAdditional: false } as const
/**
 * Values of a body whose errors are all looked for. Of a larger one the first error is reported: a list of wrong items would
 * cost a hundred times what its bytes do.
 */
const MAX_VALUES_WITH_ALL_ERRORS = 256

const hasMoreValues = (data: unknown, most: number): boolean => {
  const waiting: unknown[] = [data]
  for (let seen = 0; waiting.length > 0; seen += 1) {
    if (seen + waiting.length > most) return true
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    const parts = Object.values(value)
    if (parts.length > most) return true
    waiting.push(...parts)
  }
  return false
}

/**
 * For one server: makes validators that stop at the first error, and look for further ones in small values only. Routes whose
 * shared schemas are the same share a compiler: each new one compiles the schema of schemas.
 */
export const createValidatorBuilder = (): AjvCompiler.BuildCompilerFromPool => {
  const build = AjvCompiler()
  return (schemas) => {
    const compilerOf = (allErrors: boolean) => {
      const customOptions = { ...OPTIONS, allErrors }
      return build(schemas, { customOptions }) as Compile
    }
    const compileFirst = compilerOf(false)
    const compile: Compile = (route) => {
      const first = compileFirst(route)
      let all: Validator | undefined
      const validate: Validator = (data) => {
        const isValid = first(data)
        validate.errors = first.errors ?? null
        if (isValid || hasMoreValues(data, MAX_VALUES_WITH_ALL_ERRORS)) return isValid
        all ??= compilerOf(true)(route)
        all(data)
        validate.errors = all.errors ?? null
        return false
      }
      return validate
    }
    return compile as ReturnType<AjvCompiler.BuildCompilerFromPool>
  }
}
