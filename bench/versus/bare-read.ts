import type { PreparedChain } from './chain.ts'

/** Calls in flight, as the product has by default. */
const CONCURRENCY = 8

/**
 * Seconds that it takes to ask the node for every block with its transactions and receipts up to the last one that matters, and to
 * parse the answers: no reader of whole blocks is faster.
 */
export const bareReadSeconds = async ({ anvil, lastHeight }: PreparedChain): Promise<number> => {
  const headers = { 'content-type': 'application/json' }
  const ask = async (method: string, params: readonly unknown[]): Promise<void> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(anvil.httpUrl, { method: 'POST', headers, body })
    const { error } = (await response.json()) as { readonly error?: unknown }
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  }
  let next = 0
  const read = async (): Promise<void> => {
    while (next <= lastHeight) {
      const height = `0x${next.toString(16)}`
      next += 1
      await ask('eth_getBlockByNumber', [height, true])
      await ask('eth_getBlockReceipts', [height])
    }
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: CONCURRENCY }, read))
  return (performance.now() - startMs) / 1_000
}
