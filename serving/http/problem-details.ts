import type { FastifyError } from 'fastify'
import { FAULTS, Fault, type FaultName, Outage } from '../../core/errors.ts'
import type { Problem } from '../../schemas/api/common.ts'

/** Whose HTTP statuses errors have: ours, or those of the reference API. */
export type StatusMode = 'semantic' | 'reference'

/** What is said of a request in its error body. */
export interface ProblemContext {
  readonly requestId: string
  /** Path without the query: that may hold a secret. */
  readonly instance: string
  readonly nowMs: number
  readonly docsUrl: string
  readonly statusMode: StatusMode
}

/** Status of a fault: ours, or the one of the reference API. The code is the same in both. */
export const problemStatus = (
  { faultName }: Pick<Fault, 'faultName'>,
  statusMode: StatusMode,
): number => FAULTS[faultName][statusMode === 'reference' ? 'reference' : 'status']

/** True for a fault that says only that there is too much to do now: nothing is wrong, and nothing is logged as an error. */
export const isOverload = ({ faultName }: Fault): boolean => faultName === 'SERVER_BUSY'

/** Seconds after which a client may come back, where the same request may then be answered. */
export const retryAfterSeconds = ({ status, faultName, details }: Fault): number | undefined =>
  typeof details?.retry_after === 'number' ? details.retry_after : afterMoment(status, faultName)

const afterMoment = (status: number, faultName: Fault['faultName']): number | undefined =>
  FAULTS[faultName].retry && (status === 503 || faultName === 'CONCURRENCY_LIMIT') ? 1 : undefined

/** The error body. What went wrong inside is never in it. */
export const problemBody = (fault: Fault, context: ProblemContext): Problem => {
  const { message: title } = FAULTS[fault.faultName]
  const message = fault.status >= 500 && fault.status !== 501 ? title : fault.message
  return {
    type: `${context.docsUrl}/errors/${fault.code}`,
    title,
    status: problemStatus(fault, context.statusMode),
    detail: message,
    instance: context.instance,
    code: fault.code,
    name: fault.faultName,
    message,
    requestId: context.requestId,
    timestamp: new Date(context.nowMs).toISOString(),
    ...(fault.details && { details: { ...fault.details } }),
  }
}

/** Media type of an error: the problem type, unless the caller accepts plain JSON only. */
export const problemMediaType = (accept = '*/*'): string =>
  accept.includes('application/json') && !/problem\+json|\*\/\*|application\/\*/.test(accept)
    ? 'application/json; charset=utf-8'
    : 'application/problem+json; charset=utf-8'

/** What the request said, by the place that a validation error names. */
export type RequestInputs = Readonly<Record<string, unknown>>

/** The fault that an error of a request amounts to; `INTERNAL_SERVER_ERROR` for what is a bug. */
export const toFault = (error: unknown, inputs: RequestInputs = {}): Fault => {
  if (error instanceof Fault) return error
  if (error instanceof Outage)
    return new Fault('DATABASE_ERROR', undefined, undefined, { cause: error })
  const { validation, statusCode = 500 } = (error ?? {}) as Partial<FastifyError>
  if (validation) return validationFault(error as FastifyError, inputs)
  const name =
    statusCode >= 400 && statusCode < 500
      ? (FAULT_BY_STATUS[statusCode] ?? 'BAD_REQUEST')
      : undefined
  return new Fault(name ?? 'INTERNAL_SERVER_ERROR', undefined, undefined, { cause: error })
}

const FAULT_BY_STATUS: Readonly<Record<number, FaultName>> = {
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
}

/** Parameters whose wrong values have a code of their own. */
const FAULT_BY_PARAMETER: Readonly<Record<string, FaultName>> = {
  resolution: 'INVALID_RESOLUTION',
  cursor: 'INVALID_CURSOR',
  url: 'WEBHOOK_URL_NOT_ALLOWED',
  filter: 'WEBHOOK_FILTER_INVALID',
  secret: 'WEBHOOK_SECRET_INVALID',
}

/** Of a query these are moments; of a body, addresses. */
const FAULT_BY_QUERY_PARAMETER: Readonly<Record<string, FaultName>> = {
  ...FAULT_BY_PARAMETER,
  from: 'INVALID_TIMESTAMP',
  to: 'INVALID_TIMESTAMP',
}

interface ValidationIssue {
  readonly path: string
  readonly rule: string
  readonly message: string
  readonly allowed?: unknown
}

/** Most complaints about one request that are told, and the longest path of one. */
const MAX_ISSUES = 16
const MAX_PATH_LENGTH = 256

/** Rules that speak of a property of the value, and where they name it. */
const PROPERTY_PARAM_BY_RULE: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  additionalProperties: 'additionalProperty',
}

const validationIssues = ({ validation = [] }: FastifyError): readonly ValidationIssue[] =>
  validation
    .slice(0, MAX_ISSUES)
    .map(({ instancePath, keyword, message = 'is not valid', params }) => {
      const property = PROPERTY_PARAM_BY_RULE[keyword]
      const path = property ? `${instancePath}/${String(params[property])}` : instancePath
      return {
        path: path.slice(0, MAX_PATH_LENGTH),
        rule: keyword,
        message: keyword === 'additionalProperties' ? 'is not known' : message,
        ...(keyword === 'enum' && { allowed: params.allowedValues }),
      }
    })

const validationFault = (error: FastifyError, inputs: RequestInputs): Fault => {
  const issues = validationIssues(error)
  const [first, ...rest] = issues
  const parameter = first?.path.split('/')[1]
  const isUnknown = first?.rule === 'additionalProperties'
  if (!first || !parameter || isUnknown || rest.some(({ path }) => path !== first.path)) {
    const errors = issues.map(({ path, rule, message }) => ({ path, rule, message }))
    const messages = errors.map(({ path, message }) => `${path || 'the request'} ${message}`)
    return new Fault('VALIDATION_ERROR', messages.join(', '), { errors })
  }
  if (first.rule === 'required') {
    return new Fault('MISSING_PARAMETER', `${parameter} is required`, { parameter })
  }
  const value = inputValue(inputs[error.validationContext ?? ''], parameter)
  const allowed = first.allowed === undefined ? {} : { allowed_values: first.allowed }
  const table =
    error.validationContext === 'querystring' ? FAULT_BY_QUERY_PARAMETER : FAULT_BY_PARAMETER
  return new Fault(table[parameter] ?? 'INVALID_PARAMETER', `${parameter} ${first.message}`, {
    parameter,
    value,
    ...allowed,
  })
}

const MAX_SHOWN_VALUE = 128

/** The value as it was sent, cut to what a message may carry; lists and objects as text. */
const inputValue = (input: unknown, parameter: string): unknown => {
  const value =
    typeof input === 'object' && input !== null && Object.hasOwn(input, parameter)
      ? (input as Record<string, unknown>)[parameter]
      : null
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  return typeof text === 'string' ? text.slice(0, MAX_SHOWN_VALUE) : text
}
