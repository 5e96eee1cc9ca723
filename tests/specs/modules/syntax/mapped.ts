export const mapped: string = "from imports map";
