export const sibling: string = "sibling";
