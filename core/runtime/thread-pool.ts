import { extname } from 'node:path'
import { Piscina } from 'piscina'
import { isThreadWarning, type ThreadWarning } from './thread-warning.ts'

/** Work that is done in threads of its own. What goes in and comes out is copied, or moved where `moved` names its buffers. */
export interface ThreadPool<In, Out> {
  /** Throws what the work throws, as a plain Error; a thread that ended is replaced. */
  run(input: In, moved?: readonly ArrayBuffer[]): Promise<Out>
  /** Threads end once their work is done. */
  close(): Promise<void>
}

/** Which function, and the data that each thread starts with. */
export interface ThreadPoolOptions {
  /** Address of a module beside the caller's, without its ending: source and build have different ones. */
  readonly module: URL
  /** The function that the module exports. */
  readonly name: string
  /** `workerData` of the module. */
  readonly data: unknown
  readonly most: number
  /** Called for a thread that ended while it had nothing to do. */
  readonly onError: (error: unknown) => void
  /** Called with what a thread sends by `forwardWarnings`. */
  readonly onWarning?: (warning: ThreadWarning) => void
}

/** A thread of a process that runs the source must be told how to read it. */
const tsxLoaderUrl = (): string => {
  const loader = import.meta.resolve('tsx/esm/api')
  return `data:text/javascript,import{register}from${encodeURIComponent(JSON.stringify(loader))};register()`
}

/** Where a module lies that a thread is to run, named without its ending, and how Node must be started to read it. */
export const resolveWorkerModule = (
  module: URL,
): { readonly url: URL; readonly execArgv?: readonly string[] } => {
  const ending = extname(import.meta.url)
  return {
    url: new URL(`${module.href}${ending}`),
    ...(ending === '.ts' && { execArgv: ['--import', tsxLoaderUrl()] }),
  }
}

/** Room for young objects, megabytes: batches come one after the other. */
const YOUNG_GENERATION_MB = 24

/** Starts one thread, and more, up to `most`, while work waits. */
export const openThreadPool = <In, Out>({
  module,
  name,
  data,
  most,
  onError,
  onWarning,
}: ThreadPoolOptions): ThreadPool<In, Out> => {
  const { url, execArgv } = resolveWorkerModule(module)
  const pool = new Piscina<In, Out>({
    filename: url.href,
    name,
    workerData: data,
    minThreads: 1,
    maxThreads: most,
    // A thread that waits for work must not hold its event loop: a codec fetches schemas of others between two batches.
    atomics: 'disabled',
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    ...(execArgv && { execArgv: [...execArgv] }),
  })
  pool.on('error', onError)
  pool.on('message', (message: unknown) => {
    if (isThreadWarning(message)) onWarning?.(message)
  })
  return {
    run: (input, moved = []) => pool.run(input, { transferList: [...moved] }),
    close: () => pool.close(),
  }
}
