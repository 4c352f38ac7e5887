import { Fault } from '../../core/errors.ts'
import type { CallEndpoint, RpcPool } from '../../core/rpc/pool.ts'

/**
 * What the first node says that knows it. Throws `Fault` CHAIN_CONNECTION_ERROR where every node failed or did not know: what `work` returns
 * is an answer, what it throws is the node's failure.
 */
export const askNodes = async <Answer>(
  nodes: Pick<RpcPool, 'attempt'>,
  work: (call: CallEndpoint) => Promise<Answer | undefined>,
): Promise<Answer> => {
  const answer = await nodes.attempt(work).catch((cause: unknown) => {
    // Not asked at all: the caller's turn did not come.
    if (cause instanceof Fault) throw cause
    throw new Fault('CHAIN_CONNECTION_ERROR', undefined, undefined, { cause })
  })
  if (answer === undefined) throw new Fault('CHAIN_CONNECTION_ERROR')
  return answer
}

/** Whether any node knows something. Throws `Fault` CHAIN_CONNECTION_ERROR where no node knows it and one failed. */
export const isKnownByAny = (
  nodes: Pick<RpcPool, 'attempt'>,
  knows: (call: CallEndpoint) => Promise<boolean>,
): Promise<boolean> =>
  nodes
    .attempt(async (call) => (await knows(call)) || undefined)
    .then(
      (found) => found ?? false,
      (cause: unknown) => {
        throw new Fault('CHAIN_CONNECTION_ERROR', undefined, undefined, { cause })
      },
    )
