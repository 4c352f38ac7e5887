import type { SvmBlock } from '../../../schemas/events.ts'

/** Number of a block; its slot where the recording does not say. */
export const blockNumber = ({ blockHeight, height }: SvmBlock): number => blockHeight ?? height
