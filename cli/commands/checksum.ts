import { loadConfig } from '../../core/config/load.ts'
import { fetchOps, findOpsUrl, noProcessError } from '../app/ops-client.ts'
import { type Progress, reportProgress } from '../app/report-progress.ts'
import { withInfra } from '../app/with-infra.ts'
import { type ChainChecksum, checksum, checksumLines } from '../checksum/checksum.ts'
import { parseChainOption } from './chain-option.ts'
import type { CommandContext, OperatorOptions } from './status.ts'

/** Options of `sluice checksum`. */
export interface ChecksumOptions extends OperatorOptions {
  readonly chain?: readonly string[]
  readonly height?: number
}

/** Prints digests of the final content, of the process that runs or else of what lies in the folder. Returns the exit code. */
export const checksumCommand = async (
  words: ChecksumOptions,
  context: Pick<CommandContext, 'environment' | 'write'> & {
    readonly writeError: (line: string) => void
  },
): Promise<number> => {
  const progress = reportProgress('checksum', context.writeError)
  try {
    const sums = await takeChecksums(words, context.environment, progress)
    context.write(words.json ? JSON.stringify(sums) : sums.flatMap(checksumLines).join('\n'))
    return 0
  } finally {
    progress.stop()
  }
}

const takeChecksums = async (
  words: ChecksumOptions,
  environment: CommandContext['environment'],
  progress: Progress,
): Promise<readonly ChainChecksum[]> => {
  const config = loadConfig(environment, { dataDir: words.data })
  const chains = words.chain?.map(parseChainOption)
  const url = findOpsUrl(words.ops, config.dataDir)
  const query = new URLSearchParams(
    (chains ?? []).map((chain): [string, string] => ['chain', chain]),
  )
  if (words.height !== undefined) query.set('height', String(words.height))
  if (url !== undefined) progress.at(`by the process at ${url}`)
  const answer =
    url === undefined
      ? undefined
      : await fetchOps<ChainChecksum[]>(url, `/checksum?${query}`, config)
  if (answer === undefined && words.ops !== undefined) {
    throw noProcessError(words.ops)
  }
  return (
    answer ??
    withInfra(config, async (parts) => {
      const warehouse = await parts.warehouse()
      const height = words.height === undefined ? {} : { height: words.height }
      const onProgress = progress.at
      const taken: ChainChecksum[] = []
      for (const chain of chains ?? parts.chains) {
        taken.push(await checksum({ ...parts, warehouse, chain, onProgress, ...height }))
      }
      return taken
    })
  )
}
