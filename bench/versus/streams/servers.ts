import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Publication, startCentrifugo } from '../centrifugo/process.ts'
import { stopChild } from '../run.ts'
import {
  monotonicNs,
  type PublishOrder,
  type ServerWord,
  type SideName,
  stampedHash,
  tokenAddress,
  tokenChannel,
} from './messages.ts'

const CHILD = fileURLToPath(new URL('./sluice-child.ts', import.meta.url))

/** One of the two servers. */
export interface StreamServer {
  readonly side: SideName
  readonly pid: number
  readonly port: number
  /** One trade of each token, all at once. Resolves with the stamp that they carry. */
  publish(tokens: readonly number[]): Promise<number>
  stop(): Promise<void>
}

/** The product, with a token that both servers accept. */
export interface SluiceServer extends StreamServer {
  readonly token: string
  readonly publicKeyPem: string
}

const wordOf = <Kind extends ServerWord['kind']>(
  child: ChildProcess,
  isAsked: (word: ServerWord) => word is Extract<ServerWord, { kind: Kind }>,
) =>
  new Promise<Extract<ServerWord, { kind: Kind }>>((resolve, reject) => {
    const settle = (use: () => void): void => {
      child.off('message', hear).off('exit', gone)
      use()
    }
    const hear = (word: ServerWord): void => {
      if (isAsked(word)) settle(() => resolve(word))
    }
    const gone = (code: number | null): void =>
      settle(() => reject(new Error(`Sluice ended with ${code}`)))
    child.on('message', hear).on('exit', gone)
  })

/** Starts the product's stream server. */
export const startSluiceServer = async (): Promise<SluiceServer> => {
  const execArgv = ['--max-semi-space-size=32', '--import', import.meta.resolve('tsx')]
  const child = fork(CHILD, { execArgv })
  child.setMaxListeners(0)
  const { port, token, publicKeyPem } = await wordOf(child, (word) => word.kind === 'ready')
  let published = 0
  return {
    side: 'sluice',
    pid: child.pid ?? 0,
    port,
    token,
    publicKeyPem,
    publish: async (tokens) => {
      published += 1
      const order: PublishOrder = { id: published, stampNs: monotonicNs(), tokens }
      const done = wordOf(
        child,
        (word): word is Extract<ServerWord, { kind: 'published' }> =>
          word.kind === 'published' && word.id === order.id,
      )
      child.send(order)
      await done
      return order.stampNs
    },
    stop: () => stopChild(child),
  }
}

/**
 * Starts Centrifugo. `sample`: a message of the product with a publication of token 0, whose data it is given too, with another
 * token and another stamp.
 */
export const startCentrifugoServer = async (
  publicKeyPem: string,
  sample: string,
): Promise<StreamServer> => {
  const { push } = JSON.parse(sample) as {
    readonly push: { readonly pub: { readonly data: Readonly<Record<string, unknown>> } }
  }
  const data = JSON.stringify(push.pub.data)
  const [hash = ''] = /0x[0-9a-f]{64}/.exec(data) ?? []
  const { pid, port, publish, stop } = await startCentrifugo(publicKeyPem)
  return {
    side: 'centrifugo',
    pid,
    port,
    publish: async (tokens) => {
      const stampNs = monotonicNs()
      const stamped = data.replaceAll(hash, stampedHash(stampNs))
      const publications: Publication[] = tokens.map((index) => ({
        channel: tokenChannel(index),
        data: stamped.replaceAll(tokenAddress(0), tokenAddress(index)),
      }))
      await publish(publications)
      return stampNs
    },
    stop,
  }
}
