import type { FastifyRequest } from 'fastify'
import type { Fault } from '../../core/errors.ts'
import type { HttpSurface } from '../../core/ops/http-server-guard.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { UNCHECKED_SIGNATURE } from '../auth/contract-signatures.ts'
import { hasDisconnected } from './plane.ts'
import { isOverload } from './problem-details.ts'

/** Where faults of ours are logged and counted. */
export interface FaultReporting {
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'edgeErrors'>
}

/** A request that failed, and the answer that its client got. */
export interface FailedRequest {
  readonly request: FastifyRequest
  readonly error: unknown
  readonly fault: Fault
  readonly surface: HttpSurface
  /** Log message. */
  readonly message: string
}

/** Any stranger can show a signature that is left undecided; what is wrong with the nodes is logged where they are asked. */
const isUncheckedSignature = ({ details }: Fault): boolean =>
  details?.reason === UNCHECKED_SIGNATURE

/**
 * Logs what failed on our side, and counts what is a defect. Overload and functions that do not exist yet are neither; nor is what
 * failed once its client had gone.
 */
export const reportFault = (
  { log, metrics }: FaultReporting,
  { request, error, fault, surface, message }: FailedRequest,
): void => {
  if (fault.status < 500 || fault.status === 501) return
  if (isOverload(fault) || isUncheckedSignature(fault) || hasDisconnected(request)) return
  // What an installation lacks is said to the caller: a line for each call would let callers fill the log.
  if (fault.faultName === 'PROVIDER_NOT_INITIALIZED') return
  log.error({ err: error, requestId: request.id }, message)
  if (fault.faultName === 'INTERNAL_SERVER_ERROR') {
    metrics.edgeErrors.inc({ surface, reason: 'exception' })
  }
}
