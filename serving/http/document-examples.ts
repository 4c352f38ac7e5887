import { PARAMETER_EXAMPLES, SCHEMA_EXAMPLES } from '../../schemas/api/examples.ts'

type Json = { readonly [key: string]: unknown }

interface Parameter {
  readonly name: string
  readonly required?: boolean
  readonly schema: Json & { readonly enum?: readonly unknown[] }
  readonly example?: unknown
  readonly examples?: unknown
}

/** Examples of parameters that this installation can answer, by name: they go before those of the recorded chain. */
export type DocumentSubjects = Readonly<Record<string, unknown>>

/** Bounds of lists: one of each number in each window. */
const BOUND = /^(?:min|max)(?:_|[A-Z])/

const exampleOf = ({ name, schema }: Parameter, subjects: DocumentSubjects): unknown => {
  const known = subjects[name] ?? PARAMETER_EXAMPLES[BOUND.test(name) ? 'min' : name]
  if (schema.enum === undefined) return known
  return schema.enum.includes(known) ? known : schema.enum[0]
}

/** An optional parameter says its example in its schema: the reference page would send what a parameter itself says. */
const withParameter = (parameter: Parameter, subjects: DocumentSubjects): Parameter => {
  const { example, examples, schema, required } = parameter
  if (example !== undefined || examples !== undefined || schema.default !== undefined)
    return parameter
  const known = exampleOf(parameter, subjects)
  if (known === undefined) return parameter
  return required === true
    ? { ...parameter, example: known }
    : { ...parameter, schema: { ...schema, examples: [known] } }
}

const mapValues = (record: Json, change: (value: Json, key: string) => unknown): Json =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key, change(value as Json, key)]),
  )

/** An OpenAPI document with the examples of parameters and named schemas that are known. */
export const withExamples = (document: Json, subjects: DocumentSubjects = {}): Json => {
  const { paths, components } = document as { readonly paths: Json; readonly components: Json }
  return {
    ...document,
    paths: mapValues(paths, (path) =>
      mapValues(path, (operation) => ({
        ...operation,
        ...(Array.isArray(operation.parameters) && {
          parameters: operation.parameters.map((each: Parameter) => withParameter(each, subjects)),
        }),
      })),
    ),
    components: {
      ...components,
      schemas: mapValues(components.schemas as Json, (schema, name) =>
        Object.hasOwn(SCHEMA_EXAMPLES, name)
          ? { ...schema, examples: [SCHEMA_EXAMPLES[name]] }
          : schema,
      ),
    },
  }
}
